import { describeSerialisers } from './serialisers.ts';

describeSerialisers(['javascript', 'python', 'php', 'go', 'java']);
