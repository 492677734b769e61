import { homedir } from 'node:os';
import { GitFailure } from './git-failure.js';

/** A repository that is not here. */
export interface Remote {
  /** Without user and password. */
  readonly url: string;
  readonly transport: 'https' | 'http' | 'ssh' | 'file';
  readonly host: string;
  readonly port: number | undefined;
}

export const PORTS = { https: 443, http: 80, ssh: 22 } as const;

const PATH = '/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin';
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])$/;
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
 * ask anybody. Credentials of a host are those of the service's user: its `.netrc`, its ssh keys.
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
    if (transport === 'ssh') env.GIT_SSH_COMMAND = sshCommand(host, port, addresses[0]!);
    else if (!host.startsWith('[')) config.push(['http.curloptResolve', `${host}:${port}:${addresses.map(bracketed).join(',')}`]);
  }
  env.GIT_CONFIG_COUNT = String(config.length);
  config.forEach(([key, value], n) => {
    env[`GIT_CONFIG_KEY_${n}`] = key;
    env[`GIT_CONFIG_VALUE_${n}`] = value;
  });
  return env;
}

function sshCommand(host: string, port: number, address: string): string {
  const alias = port === PORTS.ssh ? host : `[${host.replace(/^\[|\]$/g, '')}]:${port}`;
  const options = [
    ...[
      'BatchMode=yes',
      'ConnectTimeout=10',
      'ServerAliveInterval=10',
      'ServerAliveCountMax=3',
      'ForwardAgent=no',
      'ClearAllForwardings=yes',
    ],
    // The address that was looked at; the key has to be the one of the name.
    ...[`HostName=${address}`, `HostKeyAlias=${alias}`],
  ];
  return `ssh ${options.map((option) => `-o '${option}'`).join(' ')}`;
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
