// SPDX-License-Identifier: MIT
//
// husk/husk.hpp: what a C++ program adds to husk/husk.h, from C++17 on: structs that know their size, objects that
// release themselves, and failures as exceptions. Every call is the C one: nothing is wrapped twice.
//
//     husk::object<husk_context> context;
//     husk::create(husk_context_create, context, nullptr, nullptr);
//     auto params = husk::make<husk_conv_params>();
//     params.pad[0] = params.pad[1] = 1;
//     husk::check(queue.get(), husk_conv(queue.get(), &params, &x, &w, nullptr, &y));
//
#ifndef HUSK_HUSK_HPP
#define HUSK_HUSK_HPP

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include <husk/husk.h>

namespace husk
{

// A params struct, or another that begins with its size: all other members are zero.
template <typename Struct> Struct make()
{
    Struct made{};
    made.size = sizeof(Struct);
    return made;
}

// What a call answered, and its text (what()).
class failure : public std::runtime_error
{
  public:
    explicit failure(const husk_error &error) : std::runtime_error(error.text), error_(error)
    {
    }
    husk_status status() const noexcept
    {
        return error_.status;
    }
    const husk_error &error() const noexcept
    {
        return error_;
    }

  private:
    husk_error error_;
};

inline void check(husk_status status, const husk_error &error)
{
    if (status != HUSK_OK)
        throw failure(error);
}

// Of a call on a queue, which keeps the error; of any other (husk_event_wait) the status' own text.
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

struct release {
    void operator()(husk_context *object) const noexcept
    {
        husk_context_release(object);
    }
    void operator()(husk_queue *object) const noexcept
    {
        husk_queue_release(object);
    }
    void operator()(husk_buffer *object) const noexcept
    {
        husk_buffer_release(object);
    }
    void operator()(husk_event *object) const noexcept
    {
        husk_event_release(object);
    }
    void operator()(husk_plan *object) const noexcept
    {
        husk_plan_release(object);
    }
    void operator()(husk_packed *object) const noexcept
    {
        husk_packed_release(object);
    }
    void operator()(husk_device_list *object) const noexcept
    {
        husk_device_list_release(object);
    }
};

// Owns one reference: husk::object<husk_queue>.
template <typename Type> using object = std::unique_ptr<Type, release>;

// A call whose last two arguments are the object that it creates and a husk_error; throws where it fails.
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
