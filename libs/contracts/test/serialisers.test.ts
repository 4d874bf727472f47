import { describeSerialisers } from './serialisers.ts';

/** The other languages are in serialisers.full.test.ts. */
describeSerialisers(['javascript', 'python']);
