// Jest takes the module itself for the filter.
export { only as 'module.exports' } from './heavy.mjs';
