// SPDX-License-Identifier: MIT
/** @file
 * What C++ adds to husk/husk.h, from C++17 on.
 *
 * Structs know their size, objects release themselves, and failures are exceptions. Every call is the C call; nothing
 * is wrapped.
 *
 *     husk::object<husk_context> context;
 *     husk::create(husk_context_create, context, nullptr, nullptr);
 *     auto params = husk::make<husk_conv_params>();
 *     params.pad[0] = params.pad[1] = 1;
 *     husk::check(queue.get(), husk_conv(queue.get(), &params, &x, &w, nullptr, &y));
 */
#ifndef HUSK_HUSK_HPP
#define HUSK_HUSK_HPP

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include <husk/husk.h>

/** What C++ adds to the C calls. */
namespace husk
{

/** Makes a params struct, or another struct that begins with its size. All other members are zero. */
template <typename Struct> Struct make()
{
    Struct made{};
    made.size = sizeof(Struct);
    return made;
}

/** A failure of a call. what() is its text. */
class failure : public std::runtime_error
{
  public:
    /** Copies the error. */
    explicit failure(const husk_error &error) : std::runtime_error(error.text), error_(error)
    {
    }
    /** The status that the call returned. */
    husk_status status() const noexcept
    {
        return error_.status;
    }
    /** The failure in full. */
    const husk_error &error() const noexcept
    {
        return error_;
    }

  private:
    husk_error error_;
};

/** Throws a failure with this error unless the status is HUSK_OK. */
inline void check(husk_status status, const husk_error &error)
{
    if (status != HUSK_OK)
        throw failure(error);
}

/**
 * Throws a failure unless the status is HUSK_OK. For a call on a queue it has the queue's error. For any other call,
 * such as husk_event_wait(), it has the text of the status.
 */
inline void check(const husk_queue *queue, husk_status status)
{
    if (status == HUSK_OK)
        return;
    husk_error error = *husk_queue_error(queue);
    if (error.status != status) {
        error = husk_error{};
        error.status = status;
        std::strncpy(error.text, husk_status_text(status), sizeof error.text - 1);
    }
    throw failure(error);
}

/** Releases an object of any type. */
struct release {
    /** Drops a reference. */
    void operator()(husk_context *object) const noexcept
    {
        husk_context_release(object);
    }
    /** Drops a reference. */
    void operator()(husk_queue *object) const noexcept
    {
        husk_queue_release(object);
    }
    /** Drops a reference. */
    void operator()(husk_buffer *object) const noexcept
    {
        husk_buffer_release(object);
    }
    /** Drops a reference. */
    void operator()(husk_event *object) const noexcept
    {
        husk_event_release(object);
    }
    /** Drops a reference. */
    void operator()(husk_plan *object) const noexcept
    {
        husk_plan_release(object);
    }
    /** Drops a reference. */
    void operator()(husk_packed *object) const noexcept
    {
        husk_packed_release(object);
    }
    /** Drops a reference. */
    void operator()(husk_device_list *object) const noexcept
    {
        husk_device_list_release(object);
    }
};

/** Owns one reference, for example husk::object<husk_queue>. */
template <typename Type> using object = std::unique_ptr<Type, release>;

/**
 * Makes a call whose last two arguments are the object that it creates and a husk_error. Throws a failure if the call
 * fails.
 */
template <typename Call, typename Type, typename... Arguments>
void create(Call call, object<Type> &created, Arguments &&...arguments)
{
    husk_error error{};
    Type *made = nullptr;
    check(call(std::forward<Arguments>(arguments)..., &made, &error), error);
    created.reset(made);
}

} // namespace husk

#endif
