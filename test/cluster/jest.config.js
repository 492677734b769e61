import base from '../../jest.config.js';

/** Needs Docker; not part of `npm test`. */
const { displayName: _name, testMatch: _match, ...shared } = base.projects[0];
export default {
  ...shared,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/cluster/**/*.cluster-spec.ts'],
  maxWorkers: 1,
  testTimeout: 180_000,
};
