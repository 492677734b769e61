import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';

/**
 * The health check of a container: exit code 0 when the process beside it is ready. It sends no secret, so it checks no certificate: clients
 * refuse one that has expired, and it must not have the container restarted. A database without writes is no failure either: reads are
 * answered then. Without Redis everything is; only a worker waits for it.
 */
const TIMEOUT_MS = 3_000;

const { SVC_PORT = '8372', SVC_ROLE = '', SVC_TLS_CERT = '' } = process.env;
const path = `/ready?exclude=${SVC_ROLE === 'worker' ? 'writes' : 'queue,writes'}`;
const options = { host: '127.0.0.1', port: Number(SVC_PORT), path, timeout: TIMEOUT_MS } satisfies RequestOptions;
const answered = (response: IncomingMessage): never => process.exit(response.statusCode === 200 ? 0 : 1);
const request: ClientRequest =
  SVC_TLS_CERT === '' ? getPlain(options, answered) : getSecure({ ...options, rejectUnauthorized: false }, answered);
request.on('timeout', () => process.exit(1)).on('error', () => process.exit(1));
