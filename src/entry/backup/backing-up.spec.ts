import { expect, it } from '@jest/globals';
import type { AppConfig } from '../../platform/config/config.js';
import { backUp } from './backing-up.js';

it.each([
  ['/nowhere/at/all/monday.tgz', 'cannot write /nowhere/at/all/monday.tgz: there is no directory: /nowhere/at/all'],
  ['/dev/null/monday.tgz', 'cannot write /dev/null/monday.tgz: this is no directory: /dev/null'],
])('says why it cannot write %s', async (file, message) => {
  await expect(backUp({} as AppConfig, file, false, () => undefined)).rejects.toThrow(message);
});
