import js from '@eslint/js';

const nodeGlobals = Object.fromEntries(
  ['require', 'module', 'process', 'globalThis', '__dirname', '__filename', 'Buffer', 'console', 'structuredClone', 'setTimeout', 'setInterval', 'setImmediate', 'AbortController', 'AbortSignal', 'WebAssembly', 'clearInterval', 'SharedArrayBuffer', 'URL'].map((name) => [name, 'readonly']),
);

export default [
  { ignores: ['gen_*', 'build/**'] },
  js.configs.recommended,
  { files: ['**/*.js', '**/*.cjs'], languageOptions: { sourceType: 'commonjs', ecmaVersion: 2024, globals: nodeGlobals } },
  { files: ['interop/tests/**'], languageOptions: { globals: { test: 'readonly', expect: 'readonly' } } },
  { files: ['index.js'], rules: { 'no-unused-vars': ['error', { ignoreRestSiblings: true }] } },
];
