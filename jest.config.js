/** Two kinds of project share one set-up: everything runs as ESM through swc, on the pinned Node. */
const base = {
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': '@swc/jest' },
  testEnvironment: 'node',
  setupFiles: ['<rootDir>/test/support/realm.ts'],
  injectGlobals: true,
};
const servers = {
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
};

export default {
  projects: [
    { ...base, displayName: 'unit', testMatch: ['<rootDir>/{src,scripts,test/support,test/chaos}/**/*.spec.ts'] },
    { ...base, ...servers, displayName: 'db', testMatch: ['<rootDir>/src/**/*.db-spec.ts'] },
    { ...base, ...servers, displayName: 'e2e', testMatch: ['<rootDir>/test/e2e/**/*.e2e-spec.ts'] },
  ],
  maxWorkers: 2,
  // A worker keeps what its files loaded: beyond this size collecting garbage and starting processes take longer than a new worker.
  workerIdleMemoryLimit: '600MB',
  // Only what hangs is to meet it, on however slow a machine.
  testTimeout: 120000,
};
