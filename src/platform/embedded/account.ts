import { spawnSync } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';

/** Whom the server runs as; undefined means as this process. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** PostgreSQL needs a passwd entry, so only accounts that exist are taken; none is created on somebody's machine. */
const CANDIDATES = ['postgres', 'nobody'];

/**
 * PostgreSQL refuses to run as root. As root the server gets the account that already owns its files, else the
 * one that called sudo, else `postgres`, else `nobody`.
 */
export async function chooseAccount(existing: string, sudoUid: string | undefined): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = await readAccounts();
  const owner = await stat(existing).then(
    (s) => s.uid,
    () => 0,
  );
  const chosen =
    accounts.find((a) => a.uid === owner && a.uid !== 0) ??
    accounts.find((a) => String(a.uid) === sudoUid && a.uid !== 0) ??
    CANDIDATES.map((name) => accounts.find((a) => a.name === name && a.uid !== 0)).find((a) => a !== undefined);
  if (chosen === undefined) {
    throw new Error(
      'PostgreSQL does not run as root and this machine has neither an account "postgres" nor "nobody": start as an ordinary user, or set SVC_DATABASE_URL',
    );
  }
  return chosen;
}

async function readAccounts(): Promise<Account[]> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4)
    .map(([name, , uid, gid]) => ({ name: name!, uid: Number(uid), gid: Number(gid) }));
}

/** Whether `account` can enter `directory` (asked of the system: modes, ACLs and mounts all count). */
export function canEnter(account: Account | undefined, directory: string): boolean {
  return attempt(account, '/bin/sh', ['-c', 'cd "$1"', 'sh', directory]);
}

/** Whether `account` can run `program`. */
export function canRun(account: Account | undefined, program: string): boolean {
  return attempt(account, program, ['--version']);
}

function attempt(account: Account | undefined, program: string, args: string[]): boolean {
  const as = account === undefined ? {} : { uid: account.uid, gid: account.gid };
  return spawnSync(program, args, { ...as, cwd: '/', stdio: 'ignore', timeout: 10_000 }).status === 0;
}
