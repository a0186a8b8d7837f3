// A Lua module over tensor_call: every operator is a function of the module and a method of
// tensors.
//
//   cc -shared -fPIC $(pkg-config --cflags lua5.4 tensor) tensor.c -o tensor.so $(pkg-config --libs
//   tensor) lua5.4 hello.lua
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <tensor.h>

static const char type_name[] = "tensor";
enum { MOST_ARGUMENTS = 64, MOST_RESULTS = 16 };

// ----------------------------------------------------------------------------------------- values

static tensor_t **check_tensor(lua_State *L, int at) { return luaL_checkudata(L, at, type_name); }

static void push_tensor(lua_State *L, tensor_t *handle) {
  tensor_t **t = lua_newuserdatauv(L, sizeof *t, 0);
  *t = handle;
  luaL_setmetatable(L, type_name);
}

// Returns zeros that live as long as the table `owner`.
static void *allocate(lua_State *L, int owner, size_t count, size_t size) {
  void *memory = memset(lua_newuserdatauv(L, (count + 1) * size, 0), 0, (count + 1) * size);
  lua_seti(L, owner, luaL_len(L, owner) + 1);
  return memory;
}

// Reads a sequence: tensors, strings, booleans, integers or other numbers, by its first item.
static tensor_value read_list(lua_State *L, int at, int owner) {
  tensor_value v = {.kind = TENSOR_VALUE_INTS, .length = luaL_len(L, at)};
  const size_t n = (size_t)v.length;
  tensor_t **tensors = allocate(L, owner, n, sizeof *tensors);
  const char **strings = allocate(L, owner, n, sizeof *strings);
  int64_t *ints = allocate(L, owner, n, sizeof *ints);
  double *floats = allocate(L, owner, n, sizeof *floats);
  v.as.ints = ints;
  int first = LUA_TNIL;
  for (size_t i = 0; i < n; i++) {
    const int type = lua_geti(L, at, (lua_Integer)i + 1);
    if (i == 0) first = type;
    if (type != first)
      luaL_error(L, "a list has a %s beside a %s", lua_typename(L, type), lua_typename(L, first));
    if (type == LUA_TUSERDATA) {
      tensors[i] = *check_tensor(L, -1);
      v.kind = TENSOR_VALUE_TENSORS, v.as.tensors = tensors;
    } else if (type == LUA_TSTRING) {
      strings[i] = lua_tostring(L, -1);  // the table keeps it
      v.kind = TENSOR_VALUE_STRINGS, v.as.strings = strings;
    } else {
      floats[i] = luaL_checknumber(L, -1);
      ints[i] = (int64_t)floats[i];
      if (!lua_isinteger(L, -1)) v.kind = TENSOR_VALUE_FLOATS, v.as.floats = floats;
    }
    lua_pop(L, 1);
  }
  return v;
}

static tensor_value read_value(lua_State *L, int at, int owner) {
  tensor_value v = {.kind = TENSOR_VALUE_NONE};
  switch (lua_type(L, at)) {
    case LUA_TNONE:
    case LUA_TNIL:
      break;
    case LUA_TBOOLEAN:
      v.kind = TENSOR_VALUE_BOOL, v.as.b = lua_toboolean(L, at);
      break;
    case LUA_TNUMBER:
      if (lua_isinteger(L, at))
        v.kind = TENSOR_VALUE_INT, v.as.i = lua_tointeger(L, at);
      else
        v.kind = TENSOR_VALUE_FLOAT, v.as.f = lua_tonumber(L, at);
      break;
    case LUA_TSTRING:
      v.kind = TENSOR_VALUE_STRING, v.as.string = lua_tostring(L, at);
      break;
    case LUA_TTABLE:
      return read_list(L, at, owner);
    default:
      v.kind = TENSOR_VALUE_TENSOR, v.as.tensor = *check_tensor(L, at);
  }
  return v;
}

// Pushes a result; the module owns the tensors in it from now on.
static void push_value(lua_State *L, tensor_value *v) {
  switch (v->kind) {
    case TENSOR_VALUE_TENSOR:
      push_tensor(L, v->as.tensor);
      v->kind = TENSOR_VALUE_NONE;
      return;
    case TENSOR_VALUE_INT:
      lua_pushinteger(L, v->as.i);
      return;
    case TENSOR_VALUE_FLOAT:
      lua_pushnumber(L, v->as.f);
      return;
    case TENSOR_VALUE_BOOL:
      lua_pushboolean(L, v->as.b);
      return;
    case TENSOR_VALUE_STRING:
      lua_pushstring(L, v->as.string);
      return;
    case TENSOR_VALUE_TENSORS:
    case TENSOR_VALUE_INTS:
    case TENSOR_VALUE_STRINGS:
      lua_createtable(L, (int)v->length, 0);
      for (int64_t i = 0; i < v->length; i++) {
        if (v->kind == TENSOR_VALUE_TENSORS)
          push_tensor(L, v->as.tensors[i]), ((tensor_t **)v->as.tensors)[i] = NULL;
        else if (v->kind == TENSOR_VALUE_INTS)
          lua_pushinteger(L, v->as.ints[i]);
        else
          lua_pushstring(L, v->as.strings[i]);
        lua_seti(L, -2, i + 1);
      }
      return;
    default:
      lua_pushnil(L);
  }
}

// ------------------------------------------------------------------------------------------ calls

// Returns whether the argument is a table of keyword arguments: its first key is a string.
static bool has_keywords(lua_State *L, int at) {
  if (!lua_istable(L, at)) return false;
  lua_pushnil(L);
  if (!lua_next(L, at)) return false;
  const bool named = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return named;
}

static void append(lua_State *L, const char *keyword, int at, int owner, tensor_value *arguments,
                   const char **keywords, int32_t *count) {
  if (*count == MOST_ARGUMENTS) luaL_error(L, "more than %d arguments", MOST_ARGUMENTS);
  keywords[*count] = keyword;
  arguments[(*count)++] = read_value(L, at, owner);
}

// Calls the operator whose name is the first upvalue: name(arguments..., {keyword = argument}). The
// second one is the number of operands of an operator of Lua.
static int call(lua_State *L) {
  const char *name = lua_tostring(L, lua_upvalueindex(1));
  const int operands = (int)lua_tointeger(L, lua_upvalueindex(2));
  if (operands) lua_settop(L, operands);  // Lua passes the operand of -x twice
  const int top = lua_gettop(L), owner = top + 1;
  const bool named = has_keywords(L, top);
  tensor_value arguments[MOST_ARGUMENTS], results[MOST_RESULTS];
  const char *keywords[MOST_ARGUMENTS];
  int32_t count = 0, made = MOST_RESULTS;
  lua_newtable(L);
  for (int i = 1; i <= top - named; i++) append(L, NULL, i, owner, arguments, keywords, &count);
  lua_pushnil(L);
  while (named && lua_next(L, top)) {
    if (lua_type(L, -2) != LUA_TSTRING) return luaL_error(L, "keywords must be strings");
    append(L, lua_tostring(L, -2), owner + 2, owner, arguments, keywords, &count);
    lua_pop(L, 1);
  }
  tensor_error_info *error = NULL;
  if (tensor_call(name, arguments, keywords, count, results, &made, &error)) {
    lua_pushstring(L, error ? error->message : "out of memory");
    tensor_error_free(error);
    return lua_error(L);
  }
  luaL_checkstack(L, MOST_RESULTS, "too many results");
  for (int32_t i = 0; i < made; i++) {
    push_value(L, &results[i]);
    tensor_value_free(&results[i]);
  }
  if (made || name[strlen(name) - 1] != '_') return made;
  lua_pushvalue(L, 1);  // an operator in place returns its first argument
  return 1;
}

// Returns the operator of a name, for the module and for the methods of tensors.
static int find_operator(lua_State *L) {
  const char *name = luaL_checkstring(L, 2);
  const tensor_operator_info *info;
  if (!tensor_describe_operator(name, &info, 1)) return luaL_error(L, "%s", tensor_last_error());
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, call, 1);
  return 1;
}

// ---------------------------------------------------------------------------------------- tensors

// Appends the numbers of a nested table to `to`, and its sizes to `sizes` at the first visit.
static int32_t flatten(lua_State *L, int at, double **to, int64_t *sizes, int32_t depth,
                       bool first) {
  if (!lua_istable(L, at)) {
    *(*to)++ = luaL_checknumber(L, at);
    return depth;
  }
  const int64_t n = luaL_len(L, at);
  if (depth == 8) return luaL_error(L, "tensor: more than 8 dimensions");
  if (first) sizes[depth] = n;
  if (sizes[depth] != n) return luaL_error(L, "tensor: rows of %d and %d items", sizes[depth], n);
  int32_t dims = depth + 1;
  for (int64_t i = 1; i <= n; i++) {
    lua_geti(L, at, i);
    const int32_t inner = flatten(L, lua_gettop(L), to, sizes, depth + 1, first && i == 1);
    if (i > 1 && inner != dims) return luaL_error(L, "tensor: a number beside a row");
    dims = inner;
    lua_pop(L, 1);
  }
  return dims;
}

static size_t count_numbers(lua_State *L, int at, int depth) {
  if (!lua_istable(L, at)) return 1;
  if (depth == 8) return (size_t)luaL_error(L, "tensor: more than 8 dimensions");
  const int64_t n = luaL_len(L, at);
  if (n == 0) return 0;
  lua_geti(L, at, 1);
  const size_t inner = count_numbers(L, lua_gettop(L), depth + 1);
  lua_pop(L, 1);
  return (size_t)n * inner;
}

// tensor(numbers): a float64 tensor of a number or a nested table of numbers.
static int new_tensor(lua_State *L) {
  const size_t n = count_numbers(L, 1, 0);
  double *data = lua_newuserdatauv(L, (n + 1) * sizeof *data, 0), *to = data;
  int64_t sizes[8] = {0};
  const int32_t dims = flatten(L, 1, &to, sizes, 0, true);
  tensor_t *t = NULL;
  if (tensor_from_data(data, sizes, dims, TENSOR_FLOAT64, &t))
    return luaL_error(L, "%s", tensor_last_error());
  push_tensor(L, t);
  return 1;
}

static int free_tensor(lua_State *L) {
  tensor_t **t = check_tensor(L, 1);
  if (*t) tensor_free(*t);
  *t = NULL;
  return 0;
}

int luaopen_tensor(lua_State *L) {
  static const struct {
    const char *event, *name;
    int operands;
  } operators[] = {{"__add", "add", 2},  {"__sub", "sub", 2},           {"__mul", "mul", 2},
                   {"__div", "div", 2},  {"__pow", "pow", 2},           {"__unm", "neg", 1},
                   {"__eq", "equal", 2}, {"__tostring", "to_string", 1}};
  luaL_newmetatable(L, type_name);
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    lua_pushstring(L, operators[i].name);
    lua_pushinteger(L, operators[i].operands);
    lua_pushcclosure(L, call, 2);
    lua_setfield(L, -2, operators[i].event);
  }
  lua_pushcfunction(L, free_tensor), lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, find_operator), lua_setfield(L, -2, "__index");
  lua_newtable(L);
  lua_pushcfunction(L, new_tensor), lua_setfield(L, -2, "tensor");
  lua_newtable(L);
  lua_pushcfunction(L, find_operator), lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  return 1;
}
