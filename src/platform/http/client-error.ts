import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ProblemError } from '../../contract/problems.js';
import { PROBLEM_TYPE, problemBody, problemForStatus, problemHeaders } from './problem.renderer.js';

/** What the HTTP parser itself refuses: answered as a problem on the bare socket, which is then closed. */
const STATUS: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** How long a client that was refused may go on sending. */
const LEAVE_MS = 2_000;
const leaving = new WeakSet<Socket>();
/** Answers that have to go before what came after their requests is refused. */
const answering = new WeakSet<ServerResponse>();

/** Marks a connection whose request may take as long to arrive as it does: somebody else looks after it. */
const PATIENT = Symbol('patient');
type Patient = Socket & { [PATIENT]?: boolean };

/** What comes on this connection may take longer than requests do. Returns how to end that. */
export function bePatient(socket: Patient): () => void {
  socket[PATIENT] = true;
  return () => {
    socket[PATIENT] = false;
  };
}

export function answerClientError(error: NodeJS.ErrnoException, socket: Patient, requestId: string): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket[PATIENT] === true) return;
  if (error.code === 'ECONNRESET' || socket.destroyed) {
    socket.destroy();
    return;
  }
  // The parser says it again of each piece that a refused client still sends: closed at once, its answer could be lost on the way.
  if (socket.writableEnded) return leaveSoon(socket);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  // A reply is already on its way on this connection: anything written now would land inside it.
  const { _httpMessage: sending } = socket as Socket & { _httpMessage?: ServerResponse | null };
  if (sending?.headersSent === true) {
    socket.destroy();
    return;
  }
  // The request before is at work: a refusal written now would be taken for its answer, and for a proof that nothing was done.
  if (sending?.req.complete === true) {
    if (!answering.has(sending)) sending.once('finish', () => setImmediate(() => answerClientError(error, socket, requestId)));
    answering.add(sending);
    return;
  }
  refuseOnSocket(problemForStatus(STATUS[error.code ?? ''] ?? 400), socket, requestId);
}

/** What still comes is thrown away, for a moment. */
function leaveSoon(socket: Socket): void {
  if (leaving.has(socket)) return;
  leaving.add(socket);
  const limit = setTimeout(() => socket.destroy(), LEAVE_MS);
  socket.once('close', () => clearTimeout(limit));
}

/** A refusal on a socket that no response stands before; the last thing that is said on it. */
export function refuseOnSocket(found: ProblemError, socket: Socket, requestId: string): void {
  const body = problemBody(found, requestId);
  const { status } = found.kind;
  // A client that never closes its side would keep the connection.
  leaveSoon(socket);
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      `Date: ${new Date().toUTCString()}`,
      `Content-Type: ${PROBLEM_TYPE}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-SVC-Request-Id: ${requestId}`,
      ...Object.entries(problemHeaders(found)).map(([name, value]) => `${name}: ${value}`),
      'Vary: Origin',
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
