import { Module } from '@nestjs/common';
import { OperationsModule } from '../platform/operations/operations.module.js';
import { KeysModule } from './keys/keys.module.js';
import { SystemModule } from './system/system.module.js';

/** What an api process serves. Composition only; everything these rooms share comes from the entry's root module. */
@Module({ imports: [SystemModule, KeysModule, OperationsModule] })
export class ApiModule {}
