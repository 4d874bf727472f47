import { usage } from './context.ts';

/** Requires the form that browsers and the api use: any other would never equal the origin of a returnUrl. */
export function requireOrigin(name: string, text: string): void {
  if (isHttpUrl(text) && new URL(text).origin === text) return;
  const suggestion = isHttpUrl(text)
    ? `. Did you mean ${new URL(text).origin}?`
    : ', for example https://shop.example.';
  throw usage(`${name} must be an origin, not ${text}${suggestion}`);
}

export function requireHttpUrl(name: string, text: string): void {
  if (!isHttpUrl(text)) throw usage(`${name} must be an http or https URL, not ${text}.`);
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
