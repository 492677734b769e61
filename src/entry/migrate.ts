import { migrate } from '../platform/database/migrator.js';
const url = process.argv[2] ?? process.env.SVC_DATABASE_URL;
if (url === undefined) throw new Error('SVC_DATABASE_URL is not set');
console.log((await migrate(url)).join('\n'));
