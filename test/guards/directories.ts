import type { Guard } from './guard.js';

const TREES = 'src/modules/files/directories/directories.db-spec.ts';
const SERVICE = 'src/modules/files/directories/directories.service.ts';
const REPOSITORY = 'src/modules/files/directories/directories.repository.ts';
const SEEN = 'test/e2e/authorization.e2e-spec.ts';
const INSTALLER = 'src/modules/files/composition/packs/installer.spec.ts';
const LAUNCH = 'src/modules/sessions/launch/launch.db-spec.ts';

/** Whose a directory is, and what a key learns of those that it may not see. */
export const DIRECTORIES: readonly Guard[] = [
  {
    guard: 'One city at a time gets a directory.',
    file: REPOSITORY,
    find: 'await sql`select pg_advisory_xact_lock(${LOCK_CLASS}, 0)`.execute(tx);',
    replace: 'await sql`select ${LOCK_CLASS}::integer`.execute(tx);',
    test: TREES,
    name: 'two replicas',
  },
  {
    guard: 'Who waited for the lock looks again.',
    file: SERVICE,
    find: 'this.#former(directory, await this.repository.overlaps(tx, treeOf(directory), claimant.city), claimant, gone);',
    replace: 'void [directory, claimant, gone];',
    test: TREES,
    name: 'two replicas',
  },
  {
    guard: 'No city lies in another one.',
    file: REPOSITORY,
    find: 'ways.push(path.slice(0, at + 1));',
    replace: 'if (at === path.length - 1) ways.push(path);',
    test: TREES,
  },
  {
    guard: 'No city lies around another one.',
    file: REPOSITORY,
    find: 'const end = `${path.slice(0, -1)}0`;',
    replace: 'const end = path;',
    test: TREES,
  },
  {
    guard: 'A rig takes no directory of another city.',
    file: SERVICE,
    find: 'return found.find((tree) => tree.held || !mayTakeOver);',
    replace: 'return found.find((tree) => tree.held && mayTakeOver);',
    test: TREES,
  },
  {
    guard: 'What a city had last is taken over by those only who may see it.',
    file: SERVICE,
    find: 'if (left.some((tree) => !sees(claimant, tree))) throw notYours();',
    replace: '',
    test: TREES,
  },
  {
    guard: 'A city that ends leaves the memory of its directory.',
    file: 'src/modules/tenancy/cities/city-lifecycle.service.ts',
    find: 'await this.directories.remember(tx, name, city.dir);',
    replace: '',
    test: SEEN,
    name: 'is registered again',
  },
  {
    guard: 'A key of some cities names no directory that is not theirs, whatever is there.',
    file: 'src/modules/tenancy/cities/city-directory.ts',
    find: 'if (!(await mayName(inside))) throw notYours();',
    replace: '',
    test: SEEN,
    name: 'may not see',
  },
  {
    guard: 'The disk is asked for no directory of a city whose path has very many parts.',
    file: 'src/modules/tenancy/cities/city-directory.ts',
    find: 'if (hasTooManyParts(inside))',
    replace: 'if (inside.length === 0)',
    test: 'src/modules/tenancy/cities/city-directory.spec.ts',
    name: 'very many parts',
  },
  {
    guard: 'A key of some cities names no rig outside of its city, whatever is there.',
    file: 'src/modules/sessions/rigs/rig-place.ts',
    find: 'if (!(await mayName(directory))) throw notYours();',
    replace: '',
    test: SEEN,
    name: 'may not see',
  },
  {
    guard: 'A path that no rig may have is not looked for on the disk.',
    file: 'src/modules/sessions/rigs/rig-place.ts',
    find: 'checkParts(wanted, roots, places);',
    replace: '',
    test: 'src/modules/sessions/rigs/rig-place.spec.ts',
    name: 'not looked for where none can be',
  },
  {
    guard: 'Files that a key of some cities sends get no directory outside, whatever is there.',
    file: SERVICE,
    find: 'const isUnasked = claims.confined || (',
    replace: 'const isUnasked = (',
    test: SEEN,
    name: 'may not see',
  },
  {
    guard: 'The service keeps its own files.',
    file: SERVICE,
    find: '(directory === data || isBelow(data!, directory) || isBelow(directory, data!));',
    replace: 'directory === root;',
    test: TREES,
  },
  {
    guard: 'What a restore has moved aside in the cities root belongs to no city.',
    file: SERVICE,
    find: '.toLowerCase().startsWith(ASIDE_INSIDE)) return true;',
    replace: '.toLowerCase() === ASIDE_INSIDE) return true;',
    test: TREES,
    name: 'what a restore has moved aside',
  },
  {
    guard: 'A revision gets the directories of its rigs, or is none.',
    file: 'src/modules/configuration/config/config-revisions.service.ts',
    find: 'await this.directories.holdRigs(tx, city.name, composed.rigClaims);',
    replace: '',
    test: LAUNCH,
    name: 'no rig that has become',
  },
  {
    guard: 'A session starts in no rig that leads into another city by now.',
    file: 'src/modules/sessions/launch/work-dir.ts',
    find: '(await places.isOthers?.(at)) === true)',
    replace: 'places.isOthers === undefined)',
    test: LAUNCH,
    name: 'no rig that has become',
  },
  {
    guard: 'A session reads no file of a pack whose directory somebody else has by now.',
    file: 'src/modules/sessions/launch/named-file.ts',
    find: 'isOutside && (await isOthers?.(directory)) === true',
    replace: 'isOutside && isOthers === undefined && directory === city',
    test: 'src/modules/sessions/launch/named-file.spec.ts',
  },
  {
    guard: "No repository of another city's is imported.",
    file: 'src/modules/files/composition/packs/checkout-store.ts',
    find: ' && (await isOthers?.(real)) !== true) return real;',
    replace: ') return real;',
    test: INSTALLER,
    name: 'repository on disk',
  },
  {
    guard: 'What was fetched of a repository is for those who may read it.',
    file: 'src/modules/files/composition/packs/disk-pack-store.ts',
    find: "if (source.transport === 'file' && (await this.#isOthersRepository(source))) return { missing: NOT_HERE };",
    replace: '',
    test: INSTALLER,
    name: 'repository on disk',
  },
];
