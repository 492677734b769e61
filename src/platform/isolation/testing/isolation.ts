import { AppConfig, loadConfig, type Config } from '../../config/config.js';
import { AppLogger, createLogger } from '../../logging/logger.js';
import { Isolation } from '../isolation.js';

/** As a process with this data directory has it. @param wanted of `SVC_RUNNER_ISOLATION` @param more of its environment */
export function isolationOf(dataDir: string, wanted = 'auto', more: Readonly<Record<string, string>> = {}): Isolation {
  const config = loadConfig({ ...more, SVC_RUNNER_ISOLATION: wanted, SVC_DATA_DIR: dataDir }, '/') as Config;
  return new Isolation(new AppConfig(config), new AppLogger(createLogger('silent', {})));
}
