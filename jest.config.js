import { availableParallelism } from 'node:os';

/** Four sizes of tests, one runner: test/runner runs them as Node runs the product. */
const base = {
  testRunner: '<rootDir>/test/runner/runner.mjs',
  testEnvironment: '<rootDir>/test/runner/environment.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
  injectGlobals: false,
  // Else it walks through all packages, once a project, and through cities of a chaos run, which come and go beside the tests.
  roots: ['src', 'ui/src', 'scripts', 'test'].map((name) => `<rootDir>/${name}`),
};
const servers = {
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
};

/** With SVC_TEST_DEEP=1 only. */
const deep = [{ ...base, ...servers, displayName: 'deep', testMatch: ['<rootDir>/{src,test}/**/*.deep-spec.ts'] }];

export default {
  projects: [
    {
      ...base,
      displayName: 'unit',
      testMatch: ['<rootDir>/{src,ui/src,scripts,test/support,test/chaos,test/guards}/**/*.spec.ts'],
      testPathIgnorePatterns: ['/test/chaos/.*checker\\.spec'],
    },
    { ...base, ...servers, displayName: 'db', testMatch: ['<rootDir>/src/**/*.db-spec.ts'] },
    { ...base, ...servers, displayName: 'e2e', testMatch: ['<rootDir>/test/e2e/**/*.e2e-spec.ts'] },
    {
      ...base,
      globalSetup: '<rootDir>/test/support/built.mjs',
      displayName: 'scenarios',
      testMatch: ['<rootDir>/test/scenarios/**/*.scenario-spec.ts'],
      // Half a minute each: with `npm run test:deep`.
      testPathIgnorePatterns: process.env.SVC_TEST_DEEP === '1' ? [] : ['/(working-day|night|backup)\\.scenario-spec'],
    },
    { ...base, displayName: 'checkers', testMatch: ['<rootDir>/test/chaos/*checker.spec.ts'] },
    ...(process.env.SVC_TEST_DEEP === '1' ? deep : []),
  ],
  testSequencer: '<rootDir>/test/runner/sequencer.mjs',
  // Four on two cores, as some of the tests wait; no more than the test server has connections for.
  maxWorkers: Math.min(8, Math.max(4, availableParallelism())),
  // A worker's heap is collected late; what it has loaded takes a second to load again.
  workerIdleMemoryLimit: '1GB',
  // The first to run in a checkout writes down what it has compiled when it ends.
  workerGracefulExitTimeout: 10_000,
  // Only what hangs is to meet it, on however slow a machine.
  testTimeout: 300_000,
};
