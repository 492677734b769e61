import { homedir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';

/** A file or folder of this host, as `host.toml` names it. */
export const absolute = z
  .string()
  .min(1)
  .max(4_096)
  .transform((written, context) => {
    const at = fromHome(written);
    if (!path.isAbsolute(at) || at.includes('\0')) context.addIssue({ code: 'custom', message: 'has to be absolute or begin with ~/' });
    return path.normalize(at).replace(/(?<=.)\/+$/, '');
  });

function fromHome(written: string): string {
  return written === '~' || written.startsWith('~/') ? path.join(homedir(), written.slice(1)) : written;
}
