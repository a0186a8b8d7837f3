export * from './gen_index.js';
