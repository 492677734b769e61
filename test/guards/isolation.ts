import type { Guard } from './guard.js';

/** What stands between programs of cities and their host. */
export const ISOLATION: readonly Guard[] = [
  {
    guard: 'What a city says is never in the environment of what runs outside of its sandbox.',
    file: 'src/platform/isolation/bubblewrap.ts',
    find: '...Object.fromEntries(Object.entries(env).filter(([name]) => OURS.test(name))),',
    replace: '...env,',
    test: 'src/platform/isolation/bubblewrap.spec.ts',
    name: 'gives nothing that',
  },
  {
    guard: 'A program ends with everything that it has left.',
    file: 'src/platform/isolation/bubblewrap.ts',
    find: "'--unshare-pid', ",
    replace: '',
    test: 'src/platform/isolation/bubblewrap.spec.ts',
    name: 'whatever that has left',
  },
  {
    guard: 'A link does not lead to a program that is not seen.',
    file: 'src/platform/isolation/bubblewrap.ts',
    find: 'shown !== undefined && shownAt(mounts, real) === real && ',
    replace: 'shown !== undefined && ',
    test: 'src/platform/isolation/bubblewrap.spec.ts',
    name: 'are the same inside',
  },
  {
    guard: 'Sessions do not see what others keep for themselves.',
    file: 'src/modules/launch/session-sandbox.ts',
    find: "{ at: inside(SESSIONS), mode: 'hidden' },",
    replace: "{ at: inside(SESSIONS), mode: 'read' },",
    test: 'test/e2e/isolation.e2e-spec.ts',
    name: 'see their city',
  },
  {
    guard: 'Folders of sessions are made and removed in their city only.',
    file: 'src/modules/launch/session-sandbox.ts',
    find: 'if ((await realpath(all)) !== all)',
    replace: 'if ((await realpath(all)) === "")',
    test: 'test/e2e/isolation.e2e-spec.ts',
    name: 'follow no link',
  },
];
