/** Style of the reference page, for phones and wide screens, light and dark. It loads no other resource. */
export const REFERENCE_STYLE = `
:root{color-scheme:light dark;--line:#d5d9df;--soft:#f4f5f7;--dim:#545d69;--link:#0b5cad;--get:#0c6b46;--post:#8a4b00;--good:#d8efe3;--bad:#f8dfdc;font:16px/1.55 system-ui,sans-serif}
@media(prefers-color-scheme:dark){:root{--line:#39424e;--soft:#1b2129;--dim:#a7b0bc;--link:#7cb8f5;--get:#62cf9f;--post:#f0b26a;--good:#17402f;--bad:#4d2522;background:#12161b;color:#e7eaee}}
*{box-sizing:border-box}body{margin:0;display:grid;grid-template-columns:minmax(0,1fr)}
a{color:var(--link)}main{padding:1.5rem;max-width:62rem;min-width:0}
nav{position:sticky;top:0;z-index:2;max-height:100vh;overflow-y:auto;padding:.6rem 1.5rem;background:var(--soft);border-bottom:1px solid var(--line);font-size:.92rem}
summary{cursor:pointer;padding:.3rem 0;width:max-content}main summary{color:var(--link)}nav summary{font-weight:700}nav p{margin:.6rem 0 .3rem;font-weight:700}nav ul{list-style:none;margin:0 0 1rem;padding:0}nav li a{display:block;padding:.15rem 0}nav a{text-decoration:none}nav a:hover{text-decoration:underline}
h1{margin:0 0 .5rem;font-size:1.8rem}h2{margin:3rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line);font-size:1.25rem;overflow-wrap:anywhere}h3{margin:1.4rem 0 .4rem;font-size:1rem}
nav a[aria-current]{font-weight:650;color:inherit}.guide>*{scroll-margin-top:3rem}section{scroll-margin-top:3rem}section:target>h2{color:var(--link)}
.verb{font-size:.8rem;font-weight:700;letter-spacing:.04em;margin-right:.4rem}.get{color:var(--get)}.post{color:var(--post)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.88em}p code,li code,td code{overflow-wrap:anywhere}th code{overflow-wrap:break-word}
.listing{position:relative;margin:.8rem 0}pre{margin:0;background:var(--soft);border:1px solid var(--line);border-radius:.5rem;padding:.8rem 1rem;overflow-x:auto;line-height:1.45;tab-size:2}
.listing button{position:absolute;top:.4rem;right:.4rem;font:inherit;font-size:.8rem;line-height:1.3;padding:.2rem .6rem;color:inherit;background:var(--soft);border:1px solid var(--dim);border-radius:.4rem;cursor:pointer}.listing button:hover{border-color:var(--link);color:var(--link)}:focus-visible{outline:3px solid var(--link);outline-offset:1px}
.wide{overflow-x:auto;border:1px solid var(--line);border-radius:.5rem;margin:.8rem 0}
table{border-collapse:collapse;width:100%;font-size:.93rem}th,td{padding:.45rem .7rem;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child>*{border-bottom:0}thead th{background:var(--soft);font-size:.82rem}tbody th{font-weight:400}
.rule{color:var(--dim);font-size:.88rem;overflow-wrap:anywhere}
.tabs{display:flex;flex-wrap:wrap;min-width:0;gap:0 .2rem;border:0;margin:1rem 0;padding:0}.tabs legend{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.tabs input{position:absolute;opacity:0;pointer-events:none}.tabs label{padding:.4rem .9rem;border-bottom:3px solid transparent;cursor:pointer}.tabs label:hover{color:var(--link)}.tabs input:checked+label{border-color:var(--link);color:var(--link);font-weight:650}.tabs input:focus-visible+label{outline:3px solid var(--link)}
.panel{order:1;width:100%;min-width:0;display:none;border-top:1px solid var(--line);margin-top:-1px}.tabs input:checked+label+.panel{display:block}
.states{display:grid;gap:1rem 3rem;margin:1rem 0}.states p{margin:0;font-weight:650}.states svg{display:block;width:100%;max-width:26rem;height:auto}.states figcaption{grid-column:1/-1;color:var(--dim)}
.states path{fill:var(--dim)}.states .line{fill:none;stroke:var(--dim);stroke-width:1.6}.states rect{fill:var(--soft);stroke:var(--dim)}.states rect.good{fill:var(--good)}.states rect.bad{fill:var(--bad)}.states text{fill:currentColor;font-size:13px}.states .label{font-size:12px;fill:var(--dim)}
#copied{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
@media(max-width:40rem){main{padding:1rem}.listing:has(button) pre{padding-top:2.4rem}.wide table,.wide tbody,.wide tr,.wide th,.wide td{display:block}.wide thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}.wide tr{padding:.5rem .8rem;border-bottom:1px solid var(--line)}.wide tr:last-child{border:0}.wide th,.wide td{padding:.05rem 0;border:0;overflow-wrap:anywhere}.wide tbody th{font-weight:650}.wide .short{display:inline-block;margin-right:1rem}td[data-label]:not(:empty)::before{content:attr(data-label) ": ";color:var(--dim)}}
@media(min-width:46rem){.states{grid-template-columns:1fr 1fr}}
@media(min-width:60rem){body{grid-template-columns:17rem minmax(0,1fr)}nav{height:100vh;padding:1.2rem 1.5rem;border-bottom:0;border-right:1px solid var(--line)}main{padding:2rem 2.5rem}section{scroll-margin-top:0}
@supports selector(::details-content){.menu>summary{display:none}.menu::details-content{content-visibility:visible;display:block;height:auto}}}`;
