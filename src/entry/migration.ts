import { ConfigError, loadConfig, type AppConfig } from '../platform/config/config.js';
import { explain } from './explain.js';
import { checkSchema, prepareDatabase } from './schema.js';

/** The migrate step of a cluster: brings the database up to date, makes the first key where keys are asked for, and ends. */
const env = process.argv[2] === undefined ? process.env : { ...process.env, SVC_DATABASE_URL: process.argv[2] };
let config: AppConfig | undefined;
try {
  config = loadConfig(env, process.cwd());
  if (config.databaseUrl === undefined) throw new ConfigError('SVC_DATABASE_URL is not set');
  const done = await prepareDatabase(config, config.databaseUrl, (line) => console.error(line));
  const newer = await checkSchema(config, config.databaseUrl);
  const said = newer === undefined ? done : [...done, newer];
  console.log(said.length === 0 ? 'the database is up to date' : said.join('\n'));
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : config === undefined ? error : explain(error, config));
  process.exitCode = 1;
}
