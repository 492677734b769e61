import { Module } from '@nestjs/common';

/** What an api process serves. Composition only; everything these rooms share comes from the entry's root module. */
@Module({ imports: [] })
export class ApiModule {}
