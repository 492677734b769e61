import { ndJsonStream } from '@agentclientprotocol/sdk';
import { argv, stdin, stdout } from 'node:process';
import { Readable, Writable } from 'node:stream';
import { readFlags } from './flags.js';
import { loopbackAgent } from './loopback-agent.js';

/** The process ends by itself when its input does. */
const output = Writable.toWeb(stdout) as WritableStream<Uint8Array>;
const input = Readable.toWeb(stdin) as unknown as ReadableStream<Uint8Array>;
loopbackAgent(readFlags(argv.slice(2))).connect(ndJsonStream(output, input));
