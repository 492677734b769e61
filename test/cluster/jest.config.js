import base from '../../jest.config.js';

/** Needs Docker; not part of `npm test`. */
export default {
  ...base.projects[0],
  displayName: 'cluster',
  rootDir: '../..',
  testMatch: ['<rootDir>/test/cluster/**/*.cluster-spec.ts'],
  maxWorkers: 1,
  // Only what hangs is to meet it: this machine may have lost its processors to others for minutes.
  testTimeout: 600_000,
};
