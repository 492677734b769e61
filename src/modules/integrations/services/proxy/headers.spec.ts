import { describe, expect, it } from '@jest/globals';
import { forService, fromService } from './headers.js';

const ID = '0123456789abcdef';

describe('headers on their way to a service', () => {
  it('lose what is for this hop, what is said of the way, and what is ours', () => {
    const given = {
      ...{
        host: 'localhost:1',
        connection: 'keep-alive, X-Hop, Content-Length, transfer-encoding',
        'x-hop': '1',
        'keep-alive': '1',
        te: 'trailers',
      },
      ...{ upgrade: 'h2c', 'http2-settings': 'x', expect: '100-continue', 'proxy-authorization': 'Basic x', trailer: 'x' },
      ...{ forwarded: 'for=x', 'x-forwarded-host': 'x', 'x-forwarded-anything': 'x', 'x-real-ip': 'x' },
      ...{ 'x-svc-request': '1', 'x-svc-request-id': 'forged', 'x-svc-hop': 'x' },
      ...{ 'content-length': '4', 'transfer-encoding': 'chunked', cookie: 'a=b', accept: '*/*' },
    };
    expect(forService(given, ID)).toEqual({
      ...{ host: 'service', 'x-svc-request-id': ID, 'content-length': '4', 'transfer-encoding': 'chunked', cookie: 'a=b', accept: '*/*' },
    });
  });

  it.each([
    ['Bearer svc_0123456789ab_secret', false],
    ['bearer  svs_1_secret', false],
    ['Bearer svo_f1_secret', false],
    ['Bearer sva_1_secret', false],
    ['Bearer x, Bearer svc_0123456789ab_secret', false],
    ['Bearer of-its-own', true],
    ['Basic eDp5', true],
    ['Bearer my-svc_x', true],
  ])('%s: kept is %s', (authorization, kept) => {
    expect('authorization' in forService({ authorization }, ID)).toBe(kept);
  });
});

describe('headers on their way back', () => {
  it('lose what is for that hop and what only this service may say', () => {
    const headers = {
      ...{
        connection: 'close, X-Hop',
        'x-hop': '1',
        'transfer-encoding': 'chunked',
        'x-svc-request-id': 'forged',
        'service-worker-allowed': '/',
      },
      ...{ 'access-control-allow-origin': '*', vary: 'Accept', 'x-own': '1' },
    };
    const own = { 'access-control-allow-origin': 'https://a', 'x-svc-request-id': ID, 'x-own': 'ours', connection: 'close' };
    expect(fromService(headers, own)).toEqual({
      ...{ 'access-control-allow-origin': 'https://a', 'x-svc-request-id': ID, vary: 'Accept, Origin', 'x-own': '1' },
    });
  });
});
