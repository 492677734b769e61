import { Module } from '@nestjs/common';
import { OutgoingModule } from '../outgoing/outgoing.module.js';
import { Git } from './git.js';

/** Repositories that users name. */
@Module({ imports: [OutgoingModule], providers: [Git], exports: [Git] })
export class GitModule {}
