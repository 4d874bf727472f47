import { describeSerialisers } from './serialisers.ts';

/** The other languages are covered by serialisers.full.test.ts. */
describeSerialisers(['javascript', 'python']);
