import { homedir } from 'node:os';
import { GitFailure } from './git-failure.js';
import type { SignIn } from './sign-in.js';

/** Where git hears what it is told for one call: the other end of ssh, or a secret. No argument, variable or file has that. */
export const HEARS = 3;

/** A repository that is not here. */
export interface Remote {
  /** Without user and password. */
  readonly url: string;
  readonly transport: 'https' | 'http' | 'ssh' | 'file';
  readonly host: string;
  readonly port: number | undefined;
  /** With nothing unless given. */
  readonly signIn?: SignIn | undefined;
}

export const PORTS = { https: 443, http: 80, ssh: 22 } as const;

export const PATH = '/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin';
const HOST = /^([a-z0-9_][a-z0-9._-]*|\[[0-9a-f:.]+\])$/;
/** git asks a shell of its own, which reads what the service has put there for this one call. */
const HELPER = `!f() { cat >/dev/null; test "$1" != get || cat <&${HEARS}; }; f`;
const CONFIG = {
  'core.hooksPath': '/dev/null',
  'core.attributesFile': '/dev/null',
  'core.fsmonitor': 'false',
  'core.autocrlf': 'false',
  'core.symlinks': 'true',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'credential.helper': '',
  'submodule.recurse': 'false',
  'fetch.recurseSubmodules': 'false',
  'gc.auto': '0',
  // Its windows on packs have to fit into the memory that a process is given.
  'core.packedGitWindowSize': '32m',
  'core.packedGitLimit': '512m',
  'maintenance.auto': 'false',
  // A redirect, also to the objects of another repository, would lead where nobody has looked.
  'http.followRedirects': 'false',
  'http.lowSpeedLimit': '1',
  'http.lowSpeedTime': '30',
};

/**
 * Everything that git sees of this machine: nothing of the process's own environment, no configuration but this, no way to
 * ask anybody. For ssh `GIT_SSH_COMMAND` is what the service calls with; git itself only gets the line.
 *
 * @param addresses where the host of the remote may be reached; git gets no chance to look it up again.
 */
export function gitEnvironment(remote: Remote | undefined, addresses: readonly string[] = []): Record<string, string> {
  const config: [string, string][] = Object.entries(CONFIG);
  const env: Record<string, string> = {
    PATH,
    HOME: homedir(),
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GIT_NO_LAZY_FETCH: '1',
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ALLOW_PROTOCOL: remote?.transport ?? 'none',
  };
  if (remote !== undefined && remote.transport !== 'file') {
    const { host, transport } = remote;
    if (!HOST.test(host)) throw new GitFailure('unreachable', 'the host has characters that no host can have');
    const port = remote.port ?? PORTS[transport];
    if (transport === 'ssh') env.GIT_SSH_COMMAND = sshCommand(host, port, addresses[0]!, remote.signIn);
    else {
      if (!host.startsWith('[')) config.push(['http.curloptResolve', `${host}:${port}:${addresses.map(bracketed).join(',')}`]);
      if (remote.signIn?.kind === 'token') config.push([`credential.${transport}://${host}:${port}.helper`, HELPER]);
      const ca = caOf(remote.signIn);
      if (ca !== undefined) env.GIT_SSL_CAINFO = ca;
    }
  }
  env.GIT_CONFIG_COUNT = String(config.length);
  config.forEach(([key, value], n) => {
    env[`GIT_CONFIG_KEY_${n}`] = key;
    env[`GIT_CONFIG_VALUE_${n}`] = value;
  });
  return env;
}

/** Nothing of the host's configuration of ssh counts, and nothing that a URL says but the host, the port and the repository. */
function sshCommand(host: string, port: number, address: string, signIn: SignIn | undefined): string {
  const alias = port === PORTS.ssh ? host : `[${host.replace(/^\[|\]$/g, '')}]:${port}`;
  const options = [
    ...['BatchMode=yes', 'StrictHostKeyChecking=yes', 'UpdateHostKeys=no', 'PreferredAuthentications=publickey', 'IdentityAgent=none'],
    ...['ForwardAgent=no', 'ForwardX11=no', 'ClearAllForwardings=yes', 'PermitLocalCommand=no', 'ProxyCommand=none', 'ControlPath=none'],
    ...['ConnectTimeout=10', 'ServerAliveInterval=10', 'ServerAliveCountMax=3'],
    // The address that was looked at; the key has to be the one of the name.
    ...[`HostName=${address}`, `HostKeyAlias=${alias}`],
  ].map((option) => `-o '${option}'`);
  // Where they lie says who starts it: behind a wall they have places of their own.
  const files =
    signIn?.kind === 'key' ? ['-o IdentitiesOnly=yes', '-o "IdentityFile=$GIT_KEY"', '-o "UserKnownHostsFile=$GIT_KNOWN_HOSTS"'] : [];
  return ['ssh', '-F none', ...options, ...files].join(' ');
}

/** The authority that is behind the certificate of the host. */
export function caOf(signIn: SignIn | undefined): string | undefined {
  return signIn?.kind === 'token' || signIn?.kind === 'none' ? signIn.ca : undefined;
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
