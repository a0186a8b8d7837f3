import * as libtensor from './gen_index.js';

export * from './gen_index.js';
export default libtensor;
