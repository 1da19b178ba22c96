// SPDX-License-Identifier: MIT
// Testing one's own code by libhusk_verify and GoogleTest. examples/verify_plain.c shows it with OpenCL.
#include <vector>

#include <gtest/gtest.h>

#include <husk/verify.h>

// The code under test: it may as well call OpenCL.
static void product(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            c[i * n + j] = 0;
            for (int64_t l = 0; l < k; l++)
                c[i * n + j] += a[i * k + l] * b[l * n + j];
        }
}

TEST(Product, IsWithinItsBounds)
{
    for (int64_t k : {1, 2, 63, 64, 1000}) {
        const int64_t m = 20, n = 30, a_shape[] = {m, k}, b_shape[] = {k, n}, c_shape[] = {m, n};
        std::vector<float> a(m * k), b(k * n), c(m * n);
        std::vector<double> expected(m * n), bounds(m * n);
        const husk_verify_array va = husk_verify_array_make(a.data(), HUSK_F32, 2, a_shape);
        const husk_verify_array vb = husk_verify_array_make(b.data(), HUSK_F32, 2, b_shape);
        const husk_verify_array vc = husk_verify_array_make(c.data(), HUSK_F32, 2, c_shape);
        husk_verify_report report;
        husk_error error;
        ASSERT_EQ(husk_verify_random_fill(&va, 1, &error), HUSK_OK) << error.text;
        ASSERT_EQ(husk_verify_random_fill(&vb, 2, &error), HUSK_OK) << error.text;
        product(m, n, k, a.data(), b.data(), c.data());
        ASSERT_EQ(husk_verify_gemm(nullptr, 1, &va, &vb, nullptr, 0, &vc, expected.data(), bounds.data(), &error),
                  HUSK_OK)
            << error.text;
        EXPECT_TRUE(husk_verify_compare(&vc, expected.data(), bounds.data(), nullptr, &report)) << report.text;
    }
}
