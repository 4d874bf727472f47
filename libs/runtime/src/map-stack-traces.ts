import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findSource, type SourceMapFile } from './find-source.ts';

/** Frames of different errors. One costs about 100 bytes. */
const FRAMES_KEPT_MAX = 2_000;

/**
 * Stack traces name the sources of a bundle. Node's own `--enable-source-maps` keeps all maps in memory, 12 to 60 MB.
 * Here a map is read when an error's stack is, and its result is kept instead.
 */
export function mapStackTraces(): void {
  const found = new Map<string, string | undefined>();
  Error.prepareStackTrace = (error, frames) =>
    [textOf(error), ...frames.map((frame) => `    at ${sourceOfFrame(frame, found)}`)].join('\n');
}

function sourceOfFrame(frame: NodeJS.CallSite, found: Map<string, string | undefined>): string {
  const [text, url, line, column] = [
    (frame as { toString(): string }).toString(),
    frame.getFileName(),
    frame.getLineNumber(),
    frame.getColumnNumber(),
  ];
  if (!url?.startsWith('file:') || line === null || column === null) return text;
  const place = `${url}:${line}:${column}`;
  if (!found.has(place)) {
    if (found.size >= FRAMES_KEPT_MAX) found.clear();
    found.set(place, readSource(url, line, column));
  }
  return text.replace(place, found.get(place) ?? place);
}

/** Undefined without a map next to the file. */
function readSource(url: string, line: number, column: number): string | undefined {
  try {
    const map = JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')) as SourceMapFile;
    return findSource(map, line, column);
  } catch {
    return undefined;
  }
}

function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'Error';
  }
}
