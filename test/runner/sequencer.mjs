import TestSequencer from '@jest/test-sequencer';

/**
 * These start many processes, and a process is started by copying the page tables of the one that starts it: 2 ms in a young
 * worker, 20 in one that has run half of the suite. They begin, while the workers are small.
 */
const START_PROCESSES = [
  'src/modules/files/composition/packs/installer.spec.ts',
  'test/e2e/embedded.e2e-spec.ts',
  'src/platform/runtime/exec/exec-runtime.spec.ts',
  'src/platform/runtime/acp/acp-runtime.spec.ts',
  'src/platform/git/git.spec.ts',
  'src/modules/sessions/rigs/rig-git.spec.ts',
  'src/platform/runtime/preparation/prepared-start.spec.ts',
  'src/platform/runtime/processes.spec.ts',
  'src/platform/runtime/pty/pty-runtime.spec.ts',
  'test/e2e/packs.e2e-spec.ts',
  'test/e2e/rigs.e2e-spec.ts',
];
/** Files that take longest follow, so that none of them is left alone at the end. */
const LONGEST = [
  'front-door',
  'operations',
  'rig-clones',
  'contract',
  'authorization',
  'cli-commands',
  'runners',
  'docs',
  'streams',
  'cities',
  'session-tokens',
].map((name) => `test/e2e/${name}.e2e-spec.ts`);
const FIRST = [...START_PROCESSES, ...LONGEST];

export default class InOrder extends TestSequencer {
  sort(tests) {
    const rank = ({ path }) => {
      const place = FIRST.findIndex((end) => path.endsWith(`/${end}`));
      return place === -1 ? FIRST.length : place;
    };
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
}
