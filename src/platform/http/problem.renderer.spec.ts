import { NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem, ProblemError, PROBLEMS } from '../../contract/problems.js';
import { AppLogger, createLogger, type Logger } from '../logging/logger.js';
import { problemBody, ProblemRenderer } from './problem.renderer.js';

const renderer = new ProblemRenderer(new AppLogger(createLogger('silent')));
renderer.use([(error) => (error instanceof RangeError ? problem('unavailable', 'try again') : error)]);
const failure = (fields: object): Error => Object.assign(new Error('inner words'), fields);

describe('ProblemRenderer', () => {
  it.each([
    ['a problem', problem('conflict', 'x'), 'conflict: x'],
    ["another room's error", new RangeError('x'), 'unavailable: try again'],
    ["Nest's own refusal", new NotFoundException('inner words'), 'not_found: no such resource'],
    [
      "Fastify's refusal",
      failure({ code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }),
      'payload_too_large: the request body exceeds 1 MiB',
    ],
    ['a refusal nobody named', failure({ code: 'FST_ERR_NEW', statusCode: 418 }), 'bad_request: the request is malformed'],
    ['a request that broke off', failure({ code: 'ECONNRESET', statusCode: 400 }), 'bad_request: the request is malformed'],
    ['a status from elsewhere', failure({ code: 'EWHATEVER', statusCode: 404 }), 'internal: internal server error'],
    ['a bug', failure({}), 'internal: internal server error'],
    ['no error at all', undefined, 'internal: internal server error'],
    ['a text', 'inner words', 'internal: internal server error'],
  ])('takes %s for what it is', (_name, error, detail) => {
    expect(renderer.toProblem(error).detail).toBe(detail);
  });
});

describe('the log', () => {
  const told = (error: unknown): string[] => {
    const lines: string[] = [];
    const line = (level: string) => (_fields: object, text: string) => void lines.push(`${level} ${text}`);
    const log = new AppLogger({ warn: line('warn'), error: line('error') } as unknown as Logger);
    const request = { method: 'GET', id: 'r', headers: {}, raw: { url: '/v0/x', complete: true } } as unknown as FastifyRequest;
    const reply = { sent: true, raw: { headersSent: true, writableEnded: true } } as unknown as FastifyReply;
    new ProblemRenderer(log).send(error, request, reply);
    return lines;
  };

  it('warns of what the service should not have answered, and of no refusal that stays one', () => {
    expect(told(new Error('x'))).toEqual(['error a request failed unexpectedly']);
    expect(told(problem('unavailable', 'try again'))).toEqual(['warn unavailable: try again']);
    expect(told(problem('maintenance_disabled', 'the city has none'))).toEqual([]);
    expect(told(problem('unsupported', 'no'))).toEqual([]);
    expect(told(problem('conflict', 'x'))).toEqual([]);
  });
});

describe('a problem on the wire', () => {
  it.each(Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[])('%s has every member, and a detail that begins with its prefix', (name) => {
    const { prefix, code, status, title } = PROBLEMS[name];
    expect(JSON.parse(problemBody(new ProblemError(name, 'why'), '0123456789abcdef'))).toEqual({
      type: `urn:supervisor:error:${code}`,
      title,
      status,
      detail: `${prefix}: why`,
      instance: 'urn:supervisor:request:0123456789abcdef',
      code,
    });
    expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(prefix).toMatch(/^[a-z]+(_[a-z]+)*$|^maintenance-in-progress$/);
  });
});
