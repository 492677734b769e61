import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from '../config/config.js';
import { OutgoingGuard, OutgoingRefused } from './outgoing-guard.js';

function guard(answers: Record<string, string[]> = {}, allowed = ''): OutgoingGuard {
  const config = loadConfig({ SVC_ALLOWED_TARGETS: allowed }, '/');
  return OutgoingGuard.with(config, (host) => {
    const found = answers[host];
    return found === undefined ? Promise.reject(new Error('ENOTFOUND')) : Promise.resolve(found);
  });
}

async function refusal(work: Promise<unknown>): Promise<OutgoingRefused> {
  const error = await work.then(
    (found) => found,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OutgoingRefused)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe('OutgoingGuard', () => {
  it('answers the addresses of public hosts', async () => {
    const asked = guard({ 'git.example.org': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'] });
    expect(await asked.resolve('Git.Example.org.', 443)).toEqual(['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c']);
    expect(await asked.resolve('8.8.8.8', 443)).toEqual(['8.8.8.8']);
    expect(await asked.resolve('[2606:4700::1111]', 443)).toEqual(['2606:4700::1111']);
  });

  it.each([
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '017700000001', '0177.0.0.1', '0', '0.0.0.0', '10.1.2.3', '172.16.0.1'],
    ...['192.168.0.1', '169.254.169.254', '0xa9fea9fe', '100.64.0.1', '100.100.100.200', '192.0.0.192', '198.18.0.1', '224.0.0.1'],
    ...['255.255.255.255', '240.0.0.1', '168.63.129.16', '[::]', '[::1]', '::1', '[fe80::1]', '[fc00::1]', '[fd00:ec2::254]'],
    ...['[ff02::1]', '[::ffff:8.8.8.8]', '[::ffff:7f00:1]', '[64:ff9b::8.8.8.8]', '[2002:7f00:1::]', '[2001::1]', '[::127.0.0.1]'],
    ...['[fec0::1]', '[100::1]', '[2001:db8::1]', '[4000::1]'],
  ])('refuses the address %s', async (host) => {
    expect((await refusal(guard().resolve(host, 80))).reason).toBe('forbidden');
  });

  it('refuses a name when any of its addresses is', async () => {
    const asked = guard({ both: ['8.8.8.8', '10.0.0.1'], mapped: ['::ffff:10.0.0.1'], zone: ['fe80::1%eth0'] });
    for (const host of ['both', 'mapped', 'zone']) {
      const error = await refusal(asked.resolve(host, 443));
      expect(error.reason).toBe('forbidden');
      expect(error.message).not.toMatch(/10\.0|fe80/);
    }
  });

  it('tells a name that does not resolve from one that is forbidden', async () => {
    expect((await refusal(guard({ none: [] }).resolve('none', 443))).reason).toBe('unresolved');
    expect((await refusal(guard().resolve('nowhere.example', 443))).reason).toBe('unresolved');
    for (const host of ['', 'a b', 'a\0b', 'x'.repeat(300), 'u@h'])
      expect((await refusal(guard().resolve(host, 443))).reason).toBe('forbidden');
  });

  it('lets through what is named', async () => {
    const answers = { 'git.lan': ['10.0.0.5'], 'other.lan': ['10.0.0.6'], six: ['fd00::7'] };
    const asked = guard(answers, 'git.lan:8080, 10.0.0.6, fd00::/8, [::1]:99, 127.0.0.1:5000');
    expect(await asked.resolve('git.lan', 8080)).toEqual(['10.0.0.5']);
    expect((await refusal(asked.resolve('git.lan', 8081))).reason).toBe('forbidden');
    expect(await asked.resolve('other.lan', 443)).toEqual(['10.0.0.6']);
    expect(await asked.resolve('six', 443)).toEqual(['fd00::7']);
    expect(await asked.resolve('[::1]', 99)).toEqual(['::1']);
    expect(await asked.resolve('2130706433', 5000)).toEqual(['127.0.0.1']);
    expect((await refusal(asked.resolve('127.0.0.1', 5001))).reason).toBe('forbidden');
  });

  it.each(['a b', 'host:0', 'host:99999', '10.0.0.0/40', 'http://x', '[zz]', '[1.2.3.4]:1', ':80', '-x'])(
    'is not configured with %j, which the message does not repeat',
    (entry) => {
      expect(() => loadConfig({ SVC_ALLOWED_TARGETS: `fine.example, ${entry}` }, '/')).toThrow(ConfigError);
      expect(() => loadConfig({ SVC_ALLOWED_TARGETS: entry }, '/')).toThrow(/SVC_ALLOWED_TARGETS: each entry has to be/);
    },
  );
});
