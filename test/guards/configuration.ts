import type { Guard } from './guard.js';

const TREE = 'src/modules/composition/trees/disk-tree.spec.ts';
const DISK_TREE = 'src/modules/composition/trees/disk-tree.ts';
const EDITS = 'src/modules/config/config-edits.db-spec.ts';
const CRASHES = 'src/modules/config/config-edit-crashes.db-spec.ts';
const TRACES = 'src/modules/config/config-edit-traces.db-spec.ts';
const HOLDS = 'src/modules/config/config-edits.repository.ts';
const FILES = 'src/modules/config/edit-files.ts';
const INSTALLER = 'src/modules/composition/packs/installer.spec.ts';
const CLONES = 'src/modules/rigs/rig-cloning.spec.ts';

/** The files of a city and those who change them. */
export const CONFIGURATION: readonly Guard[] = [
  {
    guard: 'Links in a city lead nowhere outside of it.',
    file: DISK_TREE,
    find: "if (real !== within && !isBelow(within, real)) throw new TreeFailure(name, 'it leads outside');",
    replace: '',
    test: TREE,
  },
  {
    guard: 'Pipes and devices are not read as files.',
    file: DISK_TREE,
    find: '    checkKind(found, name);\n',
    replace: '',
    test: TREE,
  },
  {
    guard: 'Files have a limit.',
    file: DISK_TREE,
    find: 'const MAX_TEXT_BYTES = 1024 * 1024;',
    replace: 'const MAX_TEXT_BYTES = 64 * 1024 * 1024;',
    test: TREE,
  },
  {
    guard: 'Directories have a limit.',
    file: DISK_TREE,
    find: 'if (entries.length === MAX_ENTRIES) throw',
    replace: 'if (entries.length === Infinity) throw',
    test: TREE,
  },
  {
    guard: 'A link to a directory above it is not followed for ever.',
    file: DISK_TREE,
    find: "if (above.includes(at)) throw new TreeFailure(name, 'it is a link to a directory above it');",
    replace: '',
    test: TREE,
  },
  {
    guard: 'A file that was changed is not answered from memory.',
    file: DISK_TREE,
    find: 'if (isSettled(content.found)) this.#cache.set(at, known);',
    replace: 'if (content.found !== undefined) this.#cache.set(at, known);',
    test: TREE,
    unproven: 'stamps have nanoseconds: two states of a file with one stamp cannot be brought about at will',
  },
  {
    guard: 'A city’s files are edited by one at a time.',
    file: HOLDS,
    find: 'where e.expires_at < clock_timestamp() and e.plan is null`',
    replace: '`',
    test: EDITS,
    name: 'lose none of fifty edits',
  },
  {
    guard: 'An edit that lost its hold is not committed.',
    file: 'src/modules/config/config-edits.service.ts',
    find: 'if (!(await this.repository.end(tx, city.streamId, id))) throw new HoldLost();',
    replace: 'await this.repository.end(tx, city.streamId, id);',
    test: CRASHES,
    name: 'wakes when others have gone on changes nothing',
  },
  {
    guard: 'An edit that lost its hold announces nothing.',
    file: HOLDS,
    find: 'where stream_id = ${streamId} and id = ${id} and expires_at > clock_timestamp()`',
    replace: "where stream_id = ${streamId} and ${id} <> ''`",
    test: 'src/modules/config/config-edits.repository.db-spec.ts',
  },
  {
    guard: 'A process that has stopped beating has lost its edit.',
    file: HOLDS,
    find: 'or exists (select from processes p where p.id = d.owner and ${DEAD})',
    replace: 'or exists (select from processes p where p.id = d.owner and false and ${DEAD})',
    test: CRASHES,
    name: 'is taken for dead once it has stopped beating',
  },
  {
    guard: 'What a dead editor has written is taken back.',
    file: 'src/modules/config/config-edits.service.ts',
    find: 'if (left.plan !== null) await undoPlan(left.dir, left.plan);',
    replace: '',
    test: CRASHES,
    name: 'is taken for dead once it has stopped beating',
  },
  {
    guard: 'A reload believes nothing that an edit has overtaken.',
    file: 'src/modules/config/config-reloads.service.ts',
    find: 'if (state.editing || state.attempt !== before.attempt) return undefined;',
    replace: 'if (state.editing) return undefined;',
    test: CRASHES,
    name: 'is not undone by a reload',
  },
  {
    guard: 'A reload believes nothing while an edit is going on.',
    file: 'src/modules/config/config-reloads.service.ts',
    find: 'if (state.editing || state.attempt !== before.attempt) return undefined;',
    replace: 'if (state.attempt !== before.attempt) return undefined;',
    test: CRASHES,
    unproven: 'guarded twice: an edit that ends raises the attempt, and the reload looks again',
    name: 'is not seen half done by a reload',
  },
  {
    guard: 'A file is replaced only while it holds what was read.',
    file: FILES,
    find: 'const found = hashAt(target) === expected ? swap(target, temporary, expected, old) : hashAt(target);',
    replace: 'const found = swap(target, temporary, hashAt(target), old);',
    test: EDITS,
  },
  {
    guard: 'Nothing is written through a link that leads out of the city.',
    file: FILES,
    find: "if (!isBelow(dir, real)) throw new EditConflict(relative, 'a file inside the city', 'a link that leads out of it');",
    replace: '',
    test: EDITS,
    name: 'does not follow a link that leads out since the file was read',
  },
  {
    guard: 'A new file takes the place of none.',
    file: FILES,
    find: 'if (!place(temporary, target)) throw new EditConflict(relative, NO_FILE, hashAt(target));',
    replace: 'place(temporary, target);',
    test: EDITS,
    unproven: 'no test makes a file in the moment in which an edit makes it',
  },
  {
    guard: 'Folders that an edit has made go with it.',
    file: FILES,
    find: 'for (const folder of [...(plan.folders ?? [])].reverse()) await undoFolder(dir, folder);',
    replace: '',
    test: TRACES,
  },
  {
    guard: 'An edit asks for the revision that its caller has seen.',
    file: 'src/modules/config/config-edits.service.ts',
    find: "if (expected === undefined || expected === '*' || expected === revision) return;",
    replace: 'if (expected !== -1) return;',
    test: EDITS,
    name: 'asks for the revision that the caller has seen',
  },
  {
    guard: 'Files that the result would break are not written.',
    file: 'src/modules/config/config-edits.service.ts',
    find: "throw refusalOf(after.errors, 'errors' in before ? before.errors : []);",
    replace: "if ('composed' in before) return before.composed;\n    throw refusalOf(after.errors, before.errors);",
    test: EDITS,
    name: 'is refused as a whole when the result cannot be used',
  },
  {
    guard: 'A failed edit is taken back again and again while the database is away.',
    file: 'src/modules/config/config-edits.service.ts',
    find: "if (performance.now() < until && !DISK_ERRORS.has(errnoOf(failure) ?? '')) {",
    replace: "if (performance.now() > until && !DISK_ERRORS.has(errnoOf(failure) ?? '')) {",
    test: 'src/modules/config/config-edit-outage.db-spec.ts',
  },
  {
    guard: 'A checkout whose links lead outside is not taken.',
    file: 'src/modules/composition/packs/checkout-store.ts',
    find: '      await checkLinks(tree);\n',
    replace: '',
    test: INSTALLER,
  },
  {
    guard: 'A repository on disk lies inside the cities directory.',
    file: 'src/modules/composition/packs/checkout-store.ts',
    find: 'if (real !== undefined && isBelow(await realpath(citiesRoot), real)) return real;',
    replace: "if (real !== undefined && citiesRoot !== '') return real;",
    test: INSTALLER,
  },
  {
    guard: 'A pack from elsewhere imports nothing of this machine.',
    file: 'src/modules/composition/packs/installer.ts',
    find: '        checkOrigin(source, wish);\n',
    replace: "        if (wish.asked === '') checkOrigin(source, wish);\n",
    test: INSTALLER,
  },
  {
    guard: 'A checkout that was changed is fetched anew.',
    file: 'src/modules/composition/packs/checkout-store.ts',
    find: 'if ((await faultOf(directory, source.url, commit)) === undefined) return directory;',
    replace: "if ((await faultOf(directory, source.url, commit)) !== 'absent') return directory;",
    test: INSTALLER,
  },
  {
    guard: 'Nobody takes back a clone that is not theirs.',
    file: 'src/modules/rigs/rig-cloning.ts',
    find: "return found.isFile() && found.size === Buffer.byteLength(operationId) && (await readFile(mark, 'utf8')) === operationId;",
    replace: 'return found.isFile() && operationId !== mark;',
    test: CLONES,
  },
  {
    guard: 'Secrets are masked where a configuration is shown.',
    file: 'src/modules/composition/mask.ts',
    find: 'return mask(value, key, false) as T;',
    replace: 'return (key === MASK ? mask(value, key, false) : value) as T;',
    test: 'src/modules/composition/mask.spec.ts',
  },
];
