// Jest takes the module itself for the filter.
export { without as 'module.exports' } from './heavy.mjs';
