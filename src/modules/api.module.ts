import { Module } from '@nestjs/common';
import { OperationsModule } from '../platform/operations/operations.module.js';

/** What an api process serves. Composition only; everything these rooms share comes from the entry's root module. */
@Module({ imports: [OperationsModule] })
export class ApiModule {}
