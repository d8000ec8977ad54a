// The contrast of every text drawn in a chart and of every caption, which axe leaves undecided:
// it does not work out what lies behind a text in an image or under a fixed box.
() => {
  const parse = (text) => {
    const numbers = (text.match(/[\d.]+/g) || []).map(Number);
    if (text.startsWith("color(srgb")) numbers.splice(0, 3, ...numbers.slice(0, 3).map((v) => v * 255));
    return text === "none" || numbers.length < 3 ? [0, 0, 0, 0] : [...numbers, 1].slice(0, 4);
  };
  const over = (top, alpha, under) => top.map((v, i) => v * alpha + under[i] * (1 - alpha));
  const luminance = (colour) => {
    const [r, g, b] = colour.map((v) => {
      const c = v / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const opacityOf = (node, top) => {
    let product = 1;
    for (let at = node; at && at !== top; at = at.parentElement) product *= Number(getComputedStyle(at).opacity);
    return product;
  };
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.push(parse(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer.slice(0, 3), layer[3], under), [255, 255, 255]);
  };
  const shapes = (svg) => [...svg.querySelectorAll(".mark-rect path, .mark-rect rect, .mark-bar path")];
  const found = [];
  for (const svg of document.querySelectorAll("[data-testid=stVegaLiteChart] svg")) {
    const filled = shapes(svg);
    for (const text of svg.querySelectorAll("text")) {
      const style = getComputedStyle(text);
      const box = text.getBoundingClientRect();
      const opacity = opacityOf(text, svg) * Number(style.fillOpacity);
      if (!text.textContent.trim() || opacity === 0 || box.width === 0) continue;
      const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
      let ground = behind(svg);
      for (const shape of filled) {
        const at = shape.getBoundingClientRect();
        const before = shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING;
        if (before && at.left <= x && x <= at.right && at.top <= y && y <= at.bottom) {
          const look = getComputedStyle(shape);
          const fill = parse(look.fill);
          ground = over(fill.slice(0, 3), fill[3] * opacityOf(shape, svg) * Number(look.fillOpacity), ground);
        }
      }
      const fill = parse(style.fill);
      const seen = over(fill.slice(0, 3), fill[3] * opacity, ground);
      found.push([text.textContent, contrast(seen, ground)]);
    }
  }
  for (const text of document.querySelectorAll("[data-testid=stCaptionContainer] p")) {
    const ink = parse(getComputedStyle(text).color);
    const ground = behind(text);
    found.push([text.textContent, contrast(over(ink.slice(0, 3), ink[3] * opacityOf(text, null), ground), ground)]);
  }
  return found;
}
