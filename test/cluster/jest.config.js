import base from '../../jest.config.js';

/** Needs Docker; not part of `npm test`. */
export default {
  ...base.projects[0],
  displayName: 'cluster',
  rootDir: '../..',
  testMatch: ['<rootDir>/test/cluster/**/*.cluster-spec.ts'],
  maxWorkers: 1,
  testTimeout: 180_000,
};
