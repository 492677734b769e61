import { migrateAll } from './schema.js';

/** The migrate step of a cluster: brings the database up to date, then ends. */
const url = process.argv[2] ?? process.env.SVC_DATABASE_URL;
if (url === undefined) {
  console.error('SVC_DATABASE_URL is not set');
  process.exit(2);
}
const applied = await migrateAll(url);
console.log(applied.length === 0 ? 'the database is up to date' : applied.join('\n'));
