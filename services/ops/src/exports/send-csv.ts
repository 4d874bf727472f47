import type { ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { CsvExport } from '../handlers.ts';
import { refuse } from '../refuse.ts';
import { csvLine } from './csv-line.ts';

/** Exports that are made at once: each holds a connection and a snapshot of the database. */
const EXPORTS_AT_ONCE = 2;
/** The client must take what it was sent within this time, or the snapshot is given back. */
const DRAIN_TIMEOUT_MS = 20_000;

/**
 * Streams a CSV file: a batch is read when the one before has been taken. What goes wrong after the beginning breaks the
 * connection off, so that nobody takes a part for the whole.
 * @throws GatewayError UNAVAILABLE when all places are taken; then nothing was answered
 */
export type SendCsv = (
  response: ServerResponse,
  wanted: CsvExport,
  begin: () => Promise<void>,
  onBroken: (error: unknown) => void,
) => Promise<void>;

export function createSendCsv(): SendCsv & { readonly underWay: () => number } {
  let underWay = 0;
  const sendCsv: SendCsv = async (response, wanted, begin, onBroken) => {
    if (underWay >= EXPORTS_AT_ONCE) {
      throw refuse('UNAVAILABLE', `There are ${underWay} exports under way; ask again when one has ended.`);
    }
    underWay += 1;
    try {
      await begin();
      await stream(response, wanted, onBroken);
    } finally {
      underWay -= 1;
    }
  };
  return Object.assign(sendCsv, { underWay: () => underWay });
}

async function stream(
  response: ServerResponse,
  wanted: CsvExport,
  onBroken: (error: unknown) => void,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    response.setHeader('Content-Type', 'text/csv; charset=utf-8; header=present');
    response.setHeader('Content-Disposition', `attachment; filename="${wanted.fileName}"`);
    response.write(csvLine(wanted.columns));
    for await (const batch of wanted.rows(gone.signal)) {
      if (gone.signal.aborted) return;
      if (!response.write(batch.map(csvLine).join(''))) {
        await once(response, 'drain', {
          signal: AbortSignal.any([gone.signal, AbortSignal.timeout(DRAIN_TIMEOUT_MS)]),
        });
      }
    }
    response.end();
  } catch (error) {
    response.destroy();
    if (!gone.signal.aborted) onBroken(error);
  }
}
