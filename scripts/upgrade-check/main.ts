import { fileURLToPath } from 'node:url';
import { allMigrations } from '../../src/platform/database/migrator.js';
import { scratchDatabase } from '../../test/support/scratch-database.js';
import { askedBy } from './asked.js';
import { upgradeFaults } from './check.js';
import { KNOWN } from './known.js';
import { carryOutRecorded } from './recorded.js';
import { History } from './release.js';

/**
 * `npm run upgrade:check`: whether the previous release can go on while the migrations that are new are carried out, and after them: its
 * statements are described under both schemas, and planned; what rows have to be is compared; the functions of the server are read anew; and
 * nothing may lock a large table for long. upgrade-check.db-spec.ts shows that it finds what is planted.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));
const release = new History(root).previousRelease();
const migrations = await allMigrations();
const isShipped = (name: string): boolean => release!.migrations.some((file) => file.startsWith(`${name}.`));
const fresh = release === undefined ? [] : Object.keys(migrations).filter((name) => !isShipped(name));
if (release === undefined) console.log('no release runs beside this one: it is the first');
else if (fresh.length === 0) {
  console.log(`no migration since ${release.version}`);
  for (const { fault } of KNOWN) console.error(`"${fault}" is known to the check and is not there any more`);
  process.exitCode = KNOWN.length === 0 ? 0 : 1;
} else {
  const database = await scratchDatabase();
  try {
    const asked = askedBy(root, release.commit);
    await carryOutRecorded(database.url, Object.fromEntries(Object.entries(migrations).filter(([name]) => isShipped(name))));
    const found = [...asked.faults, ...(await upgradeFaults(database.url, asked, migrations))];
    const faults = found.filter((fault) => !KNOWN.some((known) => fault.startsWith(known.fault)));
    const unused = KNOWN.filter((known) => !found.some((fault) => fault.startsWith(known.fault)));
    for (const { fault } of unused) faults.push(`"${fault}" is known to the check and is not there any more`);
    for (const fault of faults) console.error(`${release.version} cannot live with it: ${fault}`);
    console.log(`${fresh.length} migrations since ${release.version}, ${asked.statements.size} statements of it, ${faults.length} faults`);
    process.exitCode = faults.length === 0 ? 0 : 1;
  } finally {
    await database.drop();
  }
}
