import { fileURLToPath } from 'node:url';

/** What a program inside is given of the network: the socket of its proxy, and where our API is. */
export interface WayOut {
  readonly socket: string;
  readonly api: URL | undefined;
}

/** How a sandbox is entered that has no network but this. */
export interface Inside {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Shell, before the program: ends the start when the bridge does not come up. */
  readonly prelude: string;
}

/** For what calls nobody. */
export const NO_NETWORK: Inside = { args: ['--unshare-net'], env: {}, prelude: '' };

const SOCKET = '/run/svc-network';
const PROXY_PORT = 3_128;
const OTHER_PORT = 3_129;
const BRIDGE = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? 'bridge.ts' : 'bridge.js', import.meta.url));
const NOT_READY = 'the way to the network could not be opened';

/** An API on loopback is called where it always is; any other through the proxy, which looks its name up. */
export function insideOf({ socket, api }: WayOut): Inside {
  const host = api?.hostname.replace(/^\[|]$/g, '') ?? '';
  const port = api === undefined ? 0 : Number(api.port || (api.protocol === 'https:' ? 443 : 80));
  const near = host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
  const proxyPort = port === PROXY_PORT ? OTHER_PORT : PROXY_PORT;
  const proxy = `http://127.0.0.1:${proxyPort}`;
  const direct = 'localhost,127.0.0.1,::1';
  const bridge = [process.execPath, BRIDGE, SOCKET, String(proxyPort), ...(near ? [host, String(port)] : [])].map(quoted).join(' ');
  return {
    args: ['--unshare-net', '--ro-bind', socket, SOCKET],
    env: {
      ...Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, proxy])),
      ...Object.fromEntries(['NO_PROXY', 'no_proxy'].map((name) => [name, direct])),
      // Node's own clients, such as that of `svc`, ask for a proxy only when they are told to.
      NODE_USE_ENV_PROXY: '1',
    },
    prelude: `[ "$(${bridge} </dev/null 2>/dev/null &)" = ready ] || { echo '${NOT_READY}' >&2; exit 71; }; `,
  };
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
