import { Module } from '@nestjs/common';
import { IsolationModule } from '../isolation/isolation.module.js';
import { OutgoingModule } from '../outgoing/outgoing.module.js';
import { GitCredentials } from './git-credentials.js';
import { GitRunner } from './git-runner.js';
import { Git } from './git.js';

/** Repositories that users name. */
@Module({ imports: [IsolationModule, OutgoingModule], providers: [Git, GitCredentials, GitRunner], exports: [Git, GitRunner] })
export class GitModule {}
