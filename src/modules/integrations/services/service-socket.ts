import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { HOLDS } from '../../../platform/runtime/preparation/held-folder.js';

/** Of Linux, which Node does not name: what is there is held, and neither opened nor followed. */
const O_PATH = 0o10000000;
const HELD = O_PATH | constants.O_NOFOLLOW;

/**
 * Connects to the socket of a service. The service writes in the folder of its socket, and may put a link there at any time, or a
 * second name of another's socket: this process would connect where the service itself cannot. So what is there is held first, and
 * then connected to, whatever has the name by then.
 *
 * @throws what the system says when nothing is there; ENOTSOCK when it is not a socket of that name alone
 */
export function connectTo(socket: string): Socket {
  if (!HOLDS) return connect(checked(lstatSync(socket), socket));
  const held = openSync(socket, HELD);
  try {
    checked(fstatSync(held), socket);
    // Node asks the system for it before this returns.
    return connect(`/proc/self/fd/${held}`);
  } finally {
    closeSync(held);
  }
}

function checked(found: Stats, socket: string): string {
  if (found.isSocket() && found.nlink === 1) return socket;
  throw Object.assign(new Error('what has the name of the socket of a service is not a socket of its own'), { code: 'ENOTSOCK' });
}
