import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findSources, type SourceMapFile } from './find-source.ts';

/** Frames of different errors. One costs about 100 bytes. */
const FRAMES_KEPT_MAX = 2_000;

interface Frame {
  readonly text: string;
  /** Part of `text`. Undefined if it is not in a file. */
  readonly place?: string;
  readonly url: string;
  readonly line: number;
  readonly column: number;
}

/**
 * Stack traces name the sources of a bundle. Node's own `--enable-source-maps` keeps all maps in memory, 12 to 60 MB.
 * Here a map is read once for all new frames of a stack, and its results are kept instead. amqplib reads a
 * stack at each close.
 */
export function mapStackTraces(): void {
  const found = new Map<string, string>();
  Error.prepareStackTrace = (error, sites) => {
    const frames = sites.map(frameOf);
    findNew(frames, found);
    const lines = frames.map(
      ({ text, place = '' }) => `    at ${text.replace(place, found.get(place) ?? place)}`,
    );
    return [textOf(error), ...lines].join('\n');
  };
}

function frameOf(site: NodeJS.CallSite): Frame {
  const text = (site as { toString(): string }).toString();
  const [url, line, column] = [site.getFileName() ?? '', site.getLineNumber(), site.getColumnNumber()];
  if (!url.startsWith('file:') || line === null || column === null) return { text, url, line: 0, column: 0 };
  return { text, place: `${url}:${line}:${column}`, url, line, column };
}

function findNew(frames: readonly Frame[], found: Map<string, string>): void {
  if (found.size >= FRAMES_KEPT_MAX) found.clear();
  const fresh = frames.filter(({ place }) => place !== undefined && !found.has(place));
  for (const [url, ofFile] of Map.groupBy(fresh, (frame) => frame.url)) {
    const sources = readSources(url, ofFile);
    for (const [index, { place = '' }] of ofFile.entries()) found.set(place, sources[index] ?? place);
  }
}

/** Empty without a map next to the file. */
function readSources(url: string, frames: readonly Frame[]): readonly (string | undefined)[] {
  try {
    const map = JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')) as SourceMapFile;
    return findSources(map, frames);
  } catch {
    return [];
  }
}

function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
}
