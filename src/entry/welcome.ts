import type { AppConfig } from '../platform/config/config.js';
import { keyFile } from './schema.js';

/** What a person needs after the start. Behind an orchestrator the log says the same. */
export function welcome(config: AppConfig, url: string): void {
  if (config.role !== 'all') {
    console.log(`${config.role} ready on ${url}`);
    return;
  }
  const lines = [
    '',
    `  supervisor is ready${config.databaseUrl === undefined ? '' : ' (database: SVC_DATABASE_URL)'}`,
    '',
    `  API     ${url}`,
    `  Docs    ${url}/docs`,
    `  Data    ${config.dataDir}`,
    ...(config.auth === 'keys' ? [`  Key     ${keyFile(config)}`] : []),
    ...(config.readOnly ? ['', '  read only: open to the network without keys; set SVC_AUTH=keys to allow changes'] : []),
    '',
    '  npx svc city create demo --provider loopback',
    '  npx svc events --follow',
    '',
    '  Ctrl-C stops it.',
    '',
  ];
  console.log(lines.join('\n'));
}
