/** Icon of the documents page. */
export const FAVICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b5cad"/><path d="M6 11h20v13a2 2 0 0 1-2 2H8a2 2 0 0 1-2-2z" fill="#fff"/><path d="M10 11V8a6 6 0 0 1 12 0v3" fill="none" stroke="#fff" stroke-width="2.6"/><path d="m11 18 4 4 7-7" fill="none" stroke="#0b5cad" stroke-width="2.8"/></svg>';
