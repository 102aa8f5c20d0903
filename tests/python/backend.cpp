// A stand-in for an OpenCL backend of PyTorch: the pointer of a tensor's storage is its cl_mem. What
// is not defined here is done on the CPU, on copies.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/view_native.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pybind11/pybind11.h>
#include <torch/library.h>

namespace {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;
cl_context context;
cl_command_queue queue;
int copies;  // of tensors to and from the host

void check(cl_int status, const char *call) { TORCH_CHECK(status == CL_SUCCESS, call, ": ", status); }

void open() {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    cl_device_id device = nullptr;
    check(clGetPlatformIDs(8, platforms, &count), "clGetPlatformIDs");
    for (cl_uint i = 0; i < count && i < 8; ++i)
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS)
            break;
    cl_int status;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
}

struct Allocator final : c10::Allocator {
    c10::DataPtr allocate(size_t size) override {
        if (!context) open();
        cl_int status;
        cl_mem mem = clCreateBuffer(context, CL_MEM_READ_WRITE, size ? size : 1, nullptr, &status);
        check(status, "clCreateBuffer");
        return {mem, mem, &release, c10::Device(kDevice, 0)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &release; }
    void copy_data(void *, const void *, size_t) const override { TORCH_CHECK(false, "copy_data"); }
    static void release(void *mem) { clReleaseMemObject(static_cast<cl_mem>(mem)); }
} allocator;
REGISTER_ALLOCATOR(kDevice, &allocator)

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return kDevice; }
    c10::Device exchangeDevice(c10::Device) const override { return {kDevice, 0}; }
    c10::Device getDevice() const override { return {kDevice, 0}; }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::Stream getStream(c10::Device device) const override {
        return c10::Stream(c10::Stream::DEFAULT, device);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
} hooks;

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride,
                         std::optional<at::ScalarType> type, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>) {
    return at::detail::empty_strided_generic(size, stride, &allocator,
                                             c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                             type.value_or(at::kFloat));
}

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
    return at::detail::empty_generic(size, &allocator,
                                     c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                     type.value_or(at::kFloat), format);
}

at::Tensor copy_from(const at::Tensor &self, const at::Tensor &to, bool) {
    if (self.numel() == 0) return to;
    if (self.device().type() == kDevice && to.device().type() == kDevice) {
        to.copy_(self.cpu());
        return to;
    }
    // All of the storage goes to the host or comes from it: views of any strides.
    const bool reads = self.device().type() == kDevice;
    const at::Tensor &ours = reads ? self : to;
    const auto bytes = ours.storage().nbytes();
    cl_mem mem = static_cast<cl_mem>(ours.storage().mutable_data());
    auto raw = at::empty({static_cast<int64_t>(bytes)}, at::kByte);
    check(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, bytes, raw.data_ptr(), 0, nullptr, nullptr),
          "clEnqueueReadBuffer");
    auto host = at::empty({0}, ours.options().device(at::kCPU))
                    .set_(raw.storage(), ours.storage_offset(), ours.sizes(), ours.strides());
    ++copies;
    if (reads) {
        to.copy_(host);
        return to;
    }
    host.copy_(self);
    check(clEnqueueWriteBuffer(queue, mem, CL_TRUE, 0, bytes, raw.data_ptr(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
    return to;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &to) {
    to.resize_(self.sizes());
    return copy_from(self, to, false);
}

const at::Tensor &resize(const at::Tensor &self, c10::SymIntArrayRef size,
                         std::optional<at::MemoryFormat>) {
    TORCH_CHECK(self.sym_sizes() == size, "this stand-in resizes nothing");
    return self;
}

void fall_back(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
    at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", &empty);
    m.impl("empty_strided", &empty_strided);
    m.impl("as_strided", &at::native::as_strided_tensorimpl);
    m.impl("view", &at::native::view);
    m.impl("resize_", &resize);
    m.impl("_copy_from", &copy_from);
    m.impl("_copy_from_and_resize", &copy_from_and_resize);
}
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back>()); }

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    at::RegisterPrivateUse1HooksInterface(&hooks);
    m.def("synchronize", [] { check(clFinish(queue), "clFinish"); });
    m.def("copies", [] { return copies; });
}
