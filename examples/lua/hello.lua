-- Adds, sums, differentiates, saves and loads tensors.
local lt = require "tensor"

local x = lt.tensor {{1, 2}, {3, 4}}
print(x + 1)
print(1 - x == -(x - 1))
print(x:sum {dim = {0}, keepdim = true})

x:set_requires_grad(true)
local loss = (x * x):sum()
lt.backward {loss}
print(x:grad())

local path = os.tmpname()
lt.safetensors_save_file(path, {"x"}, {x:detach()})
local names, tensors = lt.safetensors_load_file(path)
os.remove(path)
print(names[1], tensors[1] == x:detach())

print(select(2, pcall(lt.add, x, lt.tensor {1, 2, 3})))

-- Prints:
-- tensor([[2., 3.],
--         [4., 5.]], dtype=torch.float64)
-- true
-- tensor([[4., 6.]], dtype=torch.float64)
-- tensor([[2., 4.],
--         [6., 8.]], dtype=torch.float64)
-- x	true
-- add: the size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1; shapes [2, 2] and [3] do not broadcast
