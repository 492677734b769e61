import type { FastifyRequest } from 'fastify';

export function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Bodies of reads are never looked at. */
export function hasBody(request: FastifyRequest): boolean {
  if (isRead(request)) return false;
  const { headers } = request;
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

export function headBytes({ raw }: FastifyRequest): number {
  return raw.rawHeaders.reduce((sum, { length }) => sum + length, raw.url!.length);
}
